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
      "Container whose log to read. Defaults to the only container of the pod.",
    ),
    follow: value(
      2,
      bool,
      "Whether to follow the log: to stream new lines as they are written. Defaults to false.",
    ),
    previous: value(
      3,
      bool,
      "Whether to read the log of the previous, terminated instance of the container. " +
        "Defaults to false.",
    ),
    sinceSeconds: pointer(
      4,
      int64,
      "Seconds before now from which to return the log. Mutually exclusive with sinceTime.",
    ),
    sinceTime: pointer(
      5,
      time,
      "Time from which to return the log, in RFC 3339 format. Mutually exclusive with " +
        "sinceSeconds.",
    ),
    timestamps: value(
      6,
      bool,
      "Whether to prefix each line with its time in RFC 3339 format. Defaults to false.",
    ),
    tailLines: pointer(
      7,
      int64,
      "Number of lines to return from the end of the log. Defaults to all.",
    ),
    limitBytes: pointer(
      8,
      int64,
      "Number of bytes after which to end the output, possibly within a line.",
    ),
    insecureSkipTLSVerifyBackend: value(
      9,
      bool,
      "Whether the API server skips verification of the kubelet's serving certificate, which " +
        "makes the connection insecure. Defaults to false.",
    ),
    stream: pointer(
      10,
      string,
      "Log stream to return: All, Stdout or Stderr. tailLines is only allowed with All. " +
        "Defaults to All. Alpha: requires the feature gate PodLogsQuerySplitStreams.",
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
      "Whether to redirect the standard input of the client to the command. Defaults to false.",
    ),
    stdout: value(
      2,
      bool,
      "Whether to redirect the standard output of the command to the client. Defaults to false.",
    ),
    stderr: value(
      3,
      bool,
      "Whether to redirect the standard error of the command to the client. Not allowed with " +
        "tty. Defaults to false.",
    ),
    tty: value(4, bool, "Whether to allocate a terminal for the command. Defaults to false."),
    container: value(
      5,
      string,
      "Container in which to run the command. Defaults to the only container of the pod.",
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
      "Whether to redirect the standard input of the client to the container. Defaults to false.",
    ),
    stdout: value(
      2,
      bool,
      "Whether to redirect the standard output of the container to the client. Defaults to false.",
    ),
    stderr: value(
      3,
      bool,
      "Whether to redirect the standard error of the container to the client. Not allowed with " +
        "tty. Defaults to false.",
    ),
    tty: value(4, bool, "Whether a TTY is used for the attach. Defaults to false."),
    container: value(
      5,
      string,
      "Container to attach to. Defaults to the only container of the pod.",
    ),
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
