/** Texts of `keelson help TOPIC`, by topic. */
export const topics: Readonly<Record<string, string>> = {
  storage: [
    "Objects are stored in memory (--storage-backend=memory), in the embedded store in --data-dir",
    "(embedded, the default of keelson start) or in etcd (etcd3, with --etcd-servers), in",
    "kube-apiserver's layout. --encryption-provider-config encrypts them at rest. keelson codec",
    "converts stored values.",
  ].join("\n"),
  authentication: [
    "The first start writes certificates, an admin token and a kubeconfig to --data-dir. Further",
    "users come from client certificates (--client-ca-file), --token-auth-file, OIDC, a webhook,",
    "service account tokens and bootstrap tokens. --authentication-config names JWT issuers.",
    "Requests without credentials are system:anonymous unless --anonymous-auth=false.",
  ].join("\n"),
  authorization: [
    "--authorization-mode lists the modes in their order: RBAC (the default), Node, ABAC, Webhook,",
    "AlwaysAllow, AlwaysDeny. --authorization-config replaces it. Members of system:masters may do",
    "everything.",
  ].join("\n"),
  controllers: [
    "keelson start runs the controllers of kube-controller-manager in its process; --controllers",
    "selects them by name (*,-name). Beside keelson apiserver, keelson controller-manager runs them,",
    "one process at a time by leader election.",
  ].join("\n"),
  nodes: [
    "keelson start simulates --nodes nodes, on which pods become Running and Ready without any",
    "container. keelson nodes runs them in a process of their own. --nodes=0 is for clusters with",
    "kubelets.",
  ].join("\n"),
  scheduler: [
    "keelson start assigns pods to nodes; --scheduler=false leaves that to another scheduler.",
    "keelson scheduler runs beside API servers, with kube-scheduler's flags and configuration.",
  ].join("\n"),
  recording: [
    "keelson record --upstream KUBECONFIG --dir DIR writes the objects of a cluster to a folder, the",
    "values of Secrets replaced. keelson start --from DIR loads it into an empty store, with uids,",
    "status and owners as they were.",
  ].join("\n"),
};
