{{- define "guardian.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "guardian.labels" -}}
{{ include "guardian.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "guardian.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Addresses of all replicas as a JSON list, the first replica's first. */}}
{{- define "guardian.addresses" -}}
{{- $given := .Values.addresses }}
{{- if and $given (ne (len $given) (int .Values.replicas)) }}
{{- fail (printf "replicas is %d, and the number of addresses is %d; give one to each, or none." (int .Values.replicas) (len $given)) }}
{{- end }}
{{- $addresses := $given }}
{{- if not $given }}
{{- range $number := until (int .Values.replicas) }}
{{- $addresses = append $addresses (printf "%s-%d.%s.svc:7000" $.Release.Name $number $.Release.Namespace) }}
{{- end }}
{{- end }}
{{- toJson $addresses }}
{{- end }}

{{- define "guardian.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Who may connect: the peers in the values, else this namespace. Strangers without a certificate could fill the port. */}}
{{- define "guardian.callers" -}}
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
{{- define "guardian.public" -}}
{{- if ne .Values.service.type "ClusterIP" -}}
externalTrafficPolicy: Local
{{- end }}
{{- if and (eq .Values.service.type "LoadBalancer") .Values.networkPolicy.cidrs (not .Values.networkPolicy.callers) }}
loadBalancerSourceRanges:
  {{- toYaml .Values.networkPolicy.cidrs | nindent 2 }}
{{- end }}
{{- end }}
