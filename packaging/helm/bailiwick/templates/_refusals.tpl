{{/* What cannot work is refused here, before anything is installed. */}}
{{- define "bailiwick.refusals" -}}
{{- include "bailiwick.refusals.config" . -}}
{{- include "bailiwick.refusals.secrets" . -}}
{{- include "bailiwick.refusals.storage" . -}}
{{- include "bailiwick.refusals.others" . -}}
{{- end -}}

{{- define "bailiwick.refusals.config" -}}
{{- range $setting, $value := dict "http.listen" "listenAddress" "http.drain_delay" "drainSeconds"
    "metrics.listen" "metrics.token in secrets" "data_dir" "persistence" -}}
{{- if include "bailiwick.config.has" (dict "config" $.Values.config "setting" $setting) -}}
{{- fail (printf "config.%s belongs to the chart: use %s" $setting $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Secrets would be readable in the ConfigMap, and files of theirs are made from `secrets`. */}}
{{- define "bailiwick.refusals.secrets" -}}
{{- $settings := include "bailiwick.secretSettings" . | fromJsonArray -}}
{{- range $setting, $reference := .Values.secrets -}}
{{- if not (has $setting $settings) -}}
{{- fail (printf "secrets has %q, which is no secret of the service: they are %s" $setting (join ", " $settings)) -}}
{{- end -}}
{{- end -}}
{{- range $setting := $settings -}}
{{- range $form := list $setting (printf "%s_file" $setting) -}}
{{- if include "bailiwick.config.has" (dict "config" $.Values.config "setting" $form) -}}
{{- fail (printf "config.%s is a secret: put it in a Secret and name that in secrets, as %q" $form $setting) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Not empty when config has the setting. */}}
{{- define "bailiwick.config.has" -}}
{{- $at := .config -}}
{{- range $part := splitList "." .setting -}}
{{- $at = ternary (get (ternary $at dict (kindIs "map" $at)) $part) "" (kindIs "map" $at) -}}
{{- end -}}
{{- if $at }}yes{{ end -}}
{{- end -}}

{{- define "bailiwick.refusals.storage" -}}
{{- $replicas := int .Values.replicas -}}
{{- if not (include "bailiwick.onPostgres" .) -}}
{{- if gt $replicas 1 -}}
{{- fail "several replicas need PostgreSQL: SQLite has one process. Name its address in secrets, as \"database.url\"" -}}
{{- end -}}
{{- if hasKey .Values.secrets "database.read_url" -}}
{{- fail "secrets has \"database.read_url\", a replica, but no \"database.url\"" -}}
{{- end -}}
{{- else -}}
{{- if not (hasKey .Values.secrets "secret") -}}
{{- fail "with PostgreSQL all pods need the same secret: name it in secrets, as \"secret\"" -}}
{{- end -}}
{{- if not (or (dig "assets" "bucket" "" .Values.config) .Values.persistence.existingClaim) -}}
{{- fail "with PostgreSQL files of systems need a place: set config.assets.bucket or persistence.existingClaim" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "bailiwick.refusals.others" -}}
{{- if and .Values.serviceMonitor.enabled (not (include "bailiwick.hasMetrics" .)) -}}
{{- fail "serviceMonitor needs the metrics: name their token in secrets, as \"metrics.token\"" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not (dig "http" "public_url" "" .Values.config)) -}}
{{- fail "ingress needs config.http.public_url, which names its host" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (hasPrefix "http://localhost" .Values.config.http.public_url) -}}
{{- fail "ingress needs config.http.public_url to be the address that clients use, not localhost" -}}
{{- end -}}
{{- if and .Values.networkPolicy.router.enabled (not .Values.networkPolicy.router.podLabels) -}}
{{- fail "networkPolicy.router needs podLabels, the labels of the router's pods" -}}
{{- end -}}
{{- end -}}

{{/* Every setting that docs/configuration.md calls a secret; `make test-charts` compares. */}}
{{- define "bailiwick.secretSettings" -}}
{{- list "secret" "previous_secret" "console.client_secret" "database.url" "database.read_url"
    "identity.oidc.introspection_client_secret" "identity.logto.app_secret" "owner.password"
    "alerting.history_webhook.secret" "assets.secret_key" "smtp.password" "metrics.token"
    "telemetry.otlp_authorization" | toJson -}}
{{- end -}}
