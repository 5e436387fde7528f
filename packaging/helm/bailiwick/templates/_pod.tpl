{{/* The pod, the same in both kinds of workload. */}}
{{- define "bailiwick.pod" -}}
metadata:
  labels:
    {{- include "bailiwick.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A pod reads its settings when it starts: new ones make new pods.
    checksum/config: {{ include "bailiwick.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "bailiwick.serviceAccount" . }}
  automountServiceAccountToken: false
  # The variables of a Service of this name begin with BAILIWICK_, as the settings do, and would be refused.
  enableServiceLinks: false
  # The delay, 30 s for requests in flight, 30 s for background work, and a little.
  terminationGracePeriodSeconds: {{ add (int .Values.drainSeconds) 65 }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: bailiwick
      image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [--config, /etc/bailiwick/config/bailiwick.toml, serve]
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      {{- include "bailiwick.env" . | nindent 6 }}
      {{- include "bailiwick.ports" . | nindent 6 }}
      {{- include "bailiwick.probes" . | nindent 6 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/bailiwick/config
          readOnly: true
        {{- if .Values.secrets }}
        - name: secrets
          mountPath: /etc/bailiwick/secrets
          readOnly: true
        {{- end }}
        - name: data
          mountPath: /var/lib/bailiwick
        - name: tmp
          mountPath: /tmp
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  {{- include "bailiwick.placement" . | nindent 2 }}
  {{- include "bailiwick.volumes" . | nindent 2 }}
{{- end -}}

{{- define "bailiwick.env" -}}
env:
  # The image sets these three, and a variable wins over the file. An empty one counts as not set.
  - name: BAILIWICK_DATA_DIR
    value: ""
  - name: BAILIWICK_HTTP__LISTEN
    value: ""
  - name: BAILIWICK_LOG__FORMAT
    value: ""
  {{- range $setting, $reference := .Values.secrets }}
  - name: {{ include "bailiwick.variable" $setting }}_FILE
    value: /etc/bailiwick/secrets/{{ $setting }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "bailiwick.ports" -}}
ports:
  - name: http
    containerPort: 8080
  {{- if include "bailiwick.hasMetrics" . }}
  - name: metrics
    containerPort: 9464
  {{- end }}
{{- end -}}

{{/*
A process that waits for its database is not ready, but must not be killed for that: /health and /ready ask the database,
/live and a connection do not.
*/}}
{{- define "bailiwick.probes" -}}
{{- $scheme := ternary "HTTPS" "HTTP" (ne (include "bailiwick.speaksTls" .) "") -}}
{{- $health := dict "path" (include "bailiwick.healthPath" .) "port" "http" "scheme" $scheme -}}
# The first start of a version may change the schema.
startupProbe:
  httpGet:
    {{- toYaml $health | nindent 4 }}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: {{ div (add (int .Values.startSeconds) 1) 2 }}
readinessProbe:
  httpGet:
    {{- if include "bailiwick.hasMetrics" . }}
    path: /ready
    port: metrics
    {{- else }}
    {{- toYaml $health | nindent 4 }}
    {{- end }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
livenessProbe:
  {{- if include "bailiwick.hasMetrics" . }}
  httpGet:
    path: /live
    port: metrics
  {{- else }}
  tcpSocket:
    port: http
  {{- end }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "bailiwick.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- else }}
{{- if gt (int .Values.replicas) 1 }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "bailiwick.selector" . | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The volume `data` of SQLite without a claim of its own comes from the template of the StatefulSet. */}}
{{- define "bailiwick.volumes" -}}
volumes:
  - name: config
    configMap:
      name: {{ include "bailiwick.fullname" . }}
  {{- if .Values.secrets }}
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
        {{- range $setting, $reference := .Values.secrets }}
        - secret:
            name: {{ $reference.name | quote }}
            items:
              - key: {{ $reference.key | quote }}
                path: {{ $setting }}
        {{- end }}
  {{- end }}
  - name: tmp
    emptyDir: {}
  {{- if .Values.persistence.existingClaim }}
  - name: data
    persistentVolumeClaim:
      claimName: {{ .Values.persistence.existingClaim | quote }}
  {{- else if include "bailiwick.onPostgres" . }}
  - name: data
    emptyDir: {}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
