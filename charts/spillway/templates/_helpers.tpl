{{- /* The name of everything that the chart makes: that of the release, unless the chart's name is in it. */ -}}
{{- define "spillway.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "spillway.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "spillway.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The network policies of jobs let in whoever has this name and component. Jobs have the same name, and components
       of their own. */ -}}
{{- define "spillway.selector" -}}
app.kubernetes.io/name: spillway
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "spillway.labels" -}}
{{ include "spillway.selector" . }}
app.kubernetes.io/part-of: spillway
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* An image by its digest, else by its tag, else by the version of the chart. Takes [image, chart]. */ -}}
{{- define "spillway.image" -}}
{{- $image := index . 0 -}}{{- $chart := index . 1 -}}
{{- $path := $image.repository -}}
{{- with $image.registry -}}{{- $path = printf "%s/%s" (trimSuffix "/" .) $path -}}{{- end -}}
{{- if $image.digest -}}{{- printf "%s@%s" $path $image.digest -}}
{{- else -}}{{- printf "%s:%s" $path (default $chart.AppVersion $image.tag) -}}{{- end -}}
{{- end -}}

{{- /* The namespaces whose StreamJobs run, as JSON; none where it is the whole cluster. */ -}}
{{- define "spillway.namespaces" -}}
{{- if .Values.clusterWide -}}[]{{- else -}}{{- default (list .Release.Namespace) .Values.watchNamespaces | uniq | toJson -}}{{- end -}}
{{- end -}}

{{- /* What the operator does in the namespaces of jobs. Pods are made by drivers alone; but nobody can give a driver
       a right, in its Role, that they don't have themselves. */ -}}
{{- define "spillway.rules" -}}
- apiGroups: [spillway.dev]
  resources: [streamjobs]
  verbs: [get, list, watch, patch]
- apiGroups: [spillway.dev]
  resources: [streamjobs/status]
  verbs: [patch]
- apiGroups: [spillway.dev]
  resources: [streamjobs/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [configmaps, services, serviceaccounts]
  verbs: [get, list, create, patch, delete]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete, deletecollection]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, list, create, patch, delete]
- apiGroups: [monitoring.coreos.com]
  resources: [podmonitors]
  verbs: [get, list, create, patch, delete]
{{- end -}}

{{- /* "yes" where a ServiceMonitor is made: where it is wanted, and the kind exists. */ -}}
{{- define "spillway.serviceMonitored" -}}
{{- if and .Values.metrics.serviceMonitor.enabled (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor") -}}yes{{- end -}}
{{- end -}}
