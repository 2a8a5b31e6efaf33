{{- define "party.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "party.labels" -}}
{{ include "party.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "party.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The ports of all the guardian's addresses as a JSON list. */}}
{{- define "party.guardianPorts" -}}
{{- $ports := list }}
{{- range splitList "," .Values.guardian }}
{{- $ports = append $ports (. | trim | splitList ":" | last | int) }}
{{- end }}
{{- $ports | uniq | toJson }}
{{- end }}

{{- define "party.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
