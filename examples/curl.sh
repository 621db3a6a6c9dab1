#!/usr/bin/env bash
# The API with curl. Usage: examples/curl.sh URL TOKEN CA_FILE
# With `npm start`: examples/curl.sh https://localhost:6443 "$(cat .keelson/pki/admin.token)" .keelson/pki/ca.crt
set -euo pipefail
url=$1 token=$2 ca=$3
api() { curl --silent --show-error --fail --cacert "$ca" --header "Authorization: Bearer $token" "$@"; }
configmaps=$url/api/v1/namespaces/default/configmaps

echo "create"
api --json '{"metadata":{"name":"colours"},"data":{"sky":"blue"}}' "$configmaps" > /dev/null

echo "patch"
api --request PATCH --header 'Content-Type: application/merge-patch+json' \
  --data '{"data":{"grass":"green"}}' "$configmaps/colours"
echo

echo "list, as kubectl prints it"
api --header 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io' "$configmaps"
echo

echo "watch for one second"
api "$configmaps?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=colours"

echo "delete"
api --request DELETE "$configmaps/colours" > /dev/null
