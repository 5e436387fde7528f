{{- define "bailiwick.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "bailiwick.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "bailiwick.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "bailiwick.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "bailiwick.selector" -}}
app.kubernetes.io/name: {{ include "bailiwick.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "bailiwick.labels" -}}
{{ include "bailiwick.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "bailiwick.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "bailiwick.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Not empty where it is so. */}}
{{- define "bailiwick.onPostgres" -}}
{{- if hasKey .Values.secrets "database.url" }}yes{{ end -}}
{{- end -}}

{{- define "bailiwick.hasMetrics" -}}
{{- if hasKey .Values.secrets "metrics.token" }}yes{{ end -}}
{{- end -}}

{{- define "bailiwick.speaksTls" -}}
{{- if dig "http" "tls_certificate" "" .Values.config }}yes{{ end -}}
{{- end -}}

{{/* /health below one of the paths at which the API answers. */}}
{{- define "bailiwick.healthPath" -}}
{{- $bases := dig "http" "base_paths" (list "/") .Values.config | default (list "/") -}}
{{- if not (kindIs "slice" $bases) -}}
{{- $bases = splitList "," $bases -}}
{{- end -}}
{{- ternary "" (first $bases | trimSuffix "/") (has "/" $bases) }}/health
{{- end -}}

{{/* The variable of a setting: metrics.token becomes BAILIWICK_METRICS__TOKEN. */}}
{{- define "bailiwick.variable" -}}
BAILIWICK_{{ . | replace "." "__" | upper }}
{{- end -}}
