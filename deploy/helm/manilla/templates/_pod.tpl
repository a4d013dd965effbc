{{/* Layers of settings as one: a later one overrides an earlier one, and null removes a setting. */}}
{{- define "manilla.settings" -}}
{{- $settings := dict -}}
{{- range $layer := . }}
{{- range $name, $value := $layer }}
{{- if kindIs "invalid" $value }}{{ $_ := unset $settings $name }}{{ else }}{{ $_ := set $settings $name (include "manilla.text" $value) }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $settings }}
{{- end -}}

{{/* The environment of a container, sorted by name. Call with a dictionary of root, settings and secrets. */}}
{{- define "manilla.environment" -}}
{{- $root := .root -}}
{{- $callback := printf "http://%s:%s/v1/rails/sandbox/callbacks" (include "manilla.name" (list $root "api")) .settings.SANDBOX_PORT -}}
{{- $variables := dict "SANDBOX_RAIL_CALLBACK_URL" (dict "value" $callback) -}}
{{- range $name, $value := .settings }}
{{- $_ := set $variables $name (dict "value" $value) }}
{{- end }}
{{- range $name, $reference := .secrets }}
{{- $_ := set $variables $name (dict "valueFrom" (dict "secretKeyRef" $reference)) }}
{{- end }}
{{- range $name, $variable := $variables }}
- name: {{ $name }}
  {{- toYaml $variable | nindent 2 }}
{{- end }}
{{- with $root.Values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What every pod has. Call with a list of the root context and the part. */}}
{{- define "manilla.pod" -}}
{{- $root := index . 0 -}}
serviceAccountName: {{ $root.Values.serviceAccountName }}
automountServiceAccountToken: false
# The variables of other Services, such as TEMPORAL_PORT, could be taken for settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  # `node` in the image.
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "manilla.selector" $ | nindent 8 }}
  {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- with $root.Values.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* What every container has. Call with the root context. */}}
{{- define "manilla.container" -}}
image: {{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- with .Values.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/*
How a pod stops: five seconds to leave its Service, then SIGTERM, after which a process exits within 25 seconds.
*/}}
{{- define "manilla.stop" -}}
terminationGracePeriodSeconds: 40
{{- end -}}

{{/* No pod is stopped before its successor is ready. Pods of two versions run side by side meanwhile. */}}
{{- define "manilla.rollout" -}}
strategy:
  rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
{{- end -}}
