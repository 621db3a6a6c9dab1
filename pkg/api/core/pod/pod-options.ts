/** What streams and proxies are asked for; these travel as query parameters. */
import { required, bool, int32, int64, list, pointer, value, string, structs } from "#schema";
import { time } from "#meta";

const v1 = structs("api/core/v1");
const atomic = { listType: "atomic" } as const;

export const podLogOptions = v1("PodLogOptions", "Which part of a log to show.", {
  container: value(1, string, "Container; may be left out if there is one."),
  follow: value(2, bool, "Go on with what is written later."),
  previous: value(3, bool, "The log of the container before its last restart."),
  sinceSeconds: pointer(4, int64, "No older than so many seconds."),
  sinceTime: pointer(5, time, "Not before this time."),
  timestamps: value(6, bool, "Begin every line with its time."),
  tailLines: pointer(7, int64, "Only so many lines from the end."),
  limitBytes: pointer(8, int64, "At most so many bytes."),
  insecureSkipTLSVerifyBackend: value(9, bool, "Do not check the certificate of the node."),
  stream: pointer(10, string, "All, Stdout or Stderr."),
});

export const podExecOptions = v1("PodExecOptions", "A command to run in a container.", {
  stdin: value(1, bool, "Send input to it."),
  stdout: value(2, bool, "Receive its output."),
  stderr: value(3, bool, "Receive its errors."),
  tty: value(4, bool, "Give it a terminal."),
  container: value(5, string, "Container; may be left out if there is one."),
  command: required(6, list(string), "Command and arguments; no shell is involved.", atomic),
});

export const podAttachOptions = v1("PodAttachOptions", "How to attach to a running container.", {
  stdin: value(1, bool, "Send input to it."),
  stdout: value(2, bool, "Receive its output."),
  stderr: value(3, bool, "Receive its errors."),
  tty: value(4, bool, "It has a terminal."),
  container: value(5, string, "Container; may be left out if there is one."),
});

export const podPortForwardOptions = v1("PodPortForwardOptions", "Ports to forward.", {
  ports: value(1, list(int32), "Ports of the pod, for WebSockets.", atomic),
});

export const podProxyOptions = v1("PodProxyOptions", "What to ask a pod for.", {
  path: value(1, string, "Path of the request."),
});

export const nodeProxyOptions = v1("NodeProxyOptions", "What to ask a node for.", {
  path: value(1, string, "Path of the request."),
});

export const serviceProxyOptions = v1("ServiceProxyOptions", "What to ask a service for.", {
  path: value(1, string, "Path of the request."),
});
