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

{{- /* The ports that a party calls as a JSON list: the guardian's, else its proxy's or its relay's. */}}
{{- define "party.calledPorts" -}}
{{- $ports := list }}
{{- range splitList "," (ternary (.Values.relay.proxy | default .Values.relay.address) .Values.guardian (ne .Values.relay.address "")) }}
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

{{- /* Who may connect: the peers in the values, else this namespace. Strangers without a certificate could fill the port. */}}
{{- define "party.callers" -}}
{{- $policy := .Values.networkPolicy }}
{{- if not (or $policy.callers $policy.cidrs) }}
{{- if ne .Values.service.type "ClusterIP" }}
{{- fail (printf "service.type %s is for callers outside the cluster: name their networks in networkPolicy.cidrs." .Values.service.type) }}
{{- end }}
- podSelector: {}
{{- end }}
{{- with $policy.callers }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- range $policy.cidrs }}
- ipBlock: {cidr: {{ . | quote }}}
{{- end }}
{{- end }}

{{- /* Keeps callers' addresses: the network policy could not distinguish callers by the addresses of nodes. */}}
{{- define "party.public" -}}
{{- if ne .Values.service.type "ClusterIP" -}}
externalTrafficPolicy: Local
{{- end }}
{{- if and (eq .Values.service.type "LoadBalancer") .Values.networkPolicy.cidrs (not .Values.networkPolicy.callers) }}
loadBalancerSourceRanges:
  {{- toYaml .Values.networkPolicy.cidrs | nindent 2 }}
{{- end }}
{{- end }}
