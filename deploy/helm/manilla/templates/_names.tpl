{{/* The name of a part of the release. Call with a list of the root context and the part. */}}
{{- define "manilla.name" -}}
{{- $root := index . 0 -}}
{{- $release := contains "manilla" $root.Release.Name | ternary $root.Release.Name (printf "%s-manilla" $root.Release.Name) -}}
{{- printf "%s-%s" ($release | trunc 40 | trimSuffix "-") (index . 1) -}}
{{- end -}}

{{/* Labels that select the pods of a part, or of all parts without one. */}}
{{- define "manilla.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: manilla
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "manilla.labels" -}}
{{- $root := index . 0 -}}
{{ include "manilla.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{/* A setting as text: Helm reads numbers as floats, and would print ten million as 1e+07. */}}
{{- define "manilla.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ printf "%.0f" . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}
