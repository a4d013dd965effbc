{{/* Egress rules. Call with the values of `networkPolicy`. */}}
{{- define "manilla.egressToDatabase" }}
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
- ports:
    - { protocol: TCP, port: {{ .database.port }} }
  {{- with .database.to }}
  to: {{ toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- define "manilla.egressToInternet" }}
# Rails and webhooks: any public address, on any port.
- ports:
    - { protocol: TCP, port: 1, endPort: 65535 }
  to:
    - ipBlock: { cidr: 0.0.0.0/0, except: {{ toJson .privateNetworks }} }
    - ipBlock: { cidr: '::/0', except: {{ toJson .privateNetworks6 }} }
{{- end }}
