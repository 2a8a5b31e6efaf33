{{- define "relay.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "relay.labels" -}}
{{ include "relay.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "relay.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The ports of all guardians' addresses as a JSON list. */}}
{{- define "relay.guardianPorts" -}}
{{- $ports := list }}
{{- range $site, $address := .Values.reach }}
{{- $ports = append $ports (splitList ":" $address | last | int) }}
{{- end }}
{{- $ports | uniq | toJson }}
{{- end }}

{{- define "relay.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Who may connect: the peers in the values, else this namespace. Strangers without a certificate could fill the port. */}}
{{- define "relay.callers" -}}
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
{{- define "relay.public" -}}
{{- if ne .Values.service.type "ClusterIP" -}}
externalTrafficPolicy: Local
{{- end }}
{{- if and (eq .Values.service.type "LoadBalancer") .Values.networkPolicy.cidrs (not .Values.networkPolicy.callers) }}
loadBalancerSourceRanges:
  {{- toYaml .Values.networkPolicy.cidrs | nindent 2 }}
{{- end }}
{{- end }}
