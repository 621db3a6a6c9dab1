/** Query options of the streaming and proxy subresources. */
import { required, bool, int32, int64, list, pointer, value, string, structs } from "#schema";
import { time } from "#meta";

const v1 = structs("api/core/v1");
const atomic = { listType: "atomic" } as const;

export const podLogOptions = v1(
  "PodLogOptions",
  "Query parameters of the subresource `log` of a pod.",
  {
    container: value(
      1,
      string,
      "Container to read. Defaults to the only one, or to that of the default-container annotation.",
    ),
    follow: value(2, bool, "Whether to stream new lines as they are written. Defaults to false."),
    previous: value(
      3,
      bool,
      "Whether to read the log of the previous, terminated instance of the container. " +
        "Defaults to false.",
    ),
    sinceSeconds: pointer(
      4,
      int64,
      "Age of the oldest line to return, in seconds. Mutually exclusive with sinceTime.",
    ),
    sinceTime: pointer(
      5,
      time,
      "Time of the oldest line to return. Mutually exclusive with sinceSeconds.",
    ),
    timestamps: value(
      6,
      bool,
      "Whether to prefix each line with its time in RFC 3339 format. Defaults to false.",
    ),
    tailLines: pointer(7, int64, "Number of lines to return from the end. By default all."),
    limitBytes: pointer(
      8,
      int64,
      "Number of bytes after which the output ends, possibly within a line.",
    ),
    insecureSkipTLSVerifyBackend: value(
      9,
      bool,
      "Whether to skip verification of the kubelet's serving certificate. The connection can " +
        "then be intercepted. Defaults to false.",
    ),
    stream: pointer(
      10,
      string,
      "Stream to return: All, Stdout or Stderr. tailLines is only allowed with All. Defaults " +
        "to All. Alpha: requires the feature gate PodLogsQuerySplitStreams.",
    ),
  },
);

export const podExecOptions = v1(
  "PodExecOptions",
  "Query parameters of the subresource `exec` of a pod.",
  {
    stdin: value(
      1,
      bool,
      "Whether to forward the client's input to the command. Defaults to false.",
    ),
    stdout: value(
      2,
      bool,
      "Whether to return the standard output of the command. Defaults to false, so that the " +
        "client must ask for it.",
    ),
    stderr: value(
      3,
      bool,
      "Whether to return the standard error of the command. Defaults to false; not available " +
        "together with tty.",
    ),
    tty: value(4, bool, "Whether to allocate a terminal for the command. Defaults to false."),
    container: value(
      5,
      string,
      "Container to run the command in. Defaults to the only one of the pod.",
    ),
    command: required(
      6,
      list(string),
      "Command and its arguments, which are not run in a shell.",
      atomic,
    ),
  },
);

export const podAttachOptions = v1(
  "PodAttachOptions",
  "Query parameters of the subresource `attach` of a pod.",
  {
    stdin: value(
      1,
      bool,
      "Whether to forward the client's input to the container. Defaults to false.",
    ),
    stdout: value(
      2,
      bool,
      "Whether to return the standard output of the container. Defaults to false, so that " +
        "the client must ask for it.",
    ),
    stderr: value(
      3,
      bool,
      "Whether to return the standard error of the container. Defaults to false; not " +
        "available together with tty.",
    ),
    tty: value(4, bool, "Whether the container has a terminal. Defaults to false."),
    container: value(5, string, "Container to attach to. Defaults to the only one of the pod."),
  },
);

export const podPortForwardOptions = v1(
  "PodPortForwardOptions",
  "Query parameters of the subresource `portforward` of a pod.",
  {
    ports: value(
      1,
      list(int32),
      "Ports of the pod to forward to. Required with WebSockets.",
      atomic,
    ),
  },
);

export const podProxyOptions = v1(
  "PodProxyOptions",
  "Query parameters of the subresource `proxy` of a pod.",
  {
    path: value(1, string, "Path of the request to the pod."),
  },
);

export const nodeProxyOptions = v1(
  "NodeProxyOptions",
  "Query parameters of the subresource `proxy` of a node.",
  {
    path: value(1, string, "Path of the request to the kubelet."),
  },
);

export const serviceProxyOptions = v1(
  "ServiceProxyOptions",
  "Query parameters of the subresource `proxy` of a Service.",
  {
    path: value(1, string, "Path of the request to an endpoint of the Service."),
  },
);
