/** Structs of probes and lifecycle handlers. */
import {
  type Infer,
  required,
  inline,
  int32,
  int64,
  list,
  named,
  nullablePointer,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { intOrString } from "#meta";

const v1 = structs("api/core/v1");

/** Names of signals 1 to 31, with aliases. */
const plainSignals =
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT " +
  "STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ";

function upTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

/** Names of the real-time signals, counted from SIGRTMIN and SIGRTMAX. */
const realTimeSignals = [
  "RTMIN",
  ...upTo(15).map((offset) => `RTMIN+${offset}`),
  ...upTo(14).map((offset) => `RTMAX-${15 - offset}`),
  "RTMAX",
];

export const signals = [...plainSignals.split(" "), ...realTimeSignals].map((name) => `SIG${name}`);

export const signal = named("v1.Signal", ...signals);

const execAction = v1("ExecAction", "Command to run inside a container.", {
  command: value(
    1,
    list(string),
    "Command and its arguments, not run in a shell. Exit code 0 means success.",
    {
      listType: "atomic",
    },
  ),
});

const httpHeader = v1("HTTPHeader", "Header of an HTTP request.", {
  name: required(1, string, "Name of the header field."),
  value: required(2, string, "Value of the header field."),
});

const httpGetAction = v1(
  "HTTPGetAction",
  "HTTP GET request to a container. Status codes 200 to 399 mean success.",
  {
    path: value(1, string, "Path to request, with query. Defaults to /."),
    port: required(2, intOrString, "Port number, or name of a container port."),
    host: value(
      3,
      string,
      "Host name to connect to; set a Host header instead where possible. Defaults to the IP " +
        "address of the pod.",
    ),
    scheme: value(
      4,
      named("v1.URIScheme", "HTTP", "HTTPS"),
      "Scheme of the request: one of HTTP, HTTPS (the certificate is not verified). Defaults " +
        "to HTTP.",
    ),
    httpHeaders: value(
      5,
      list(httpHeader),
      "Additional headers of the request. Repeated headers are allowed.",
      { listType: "atomic" },
    ),
  },
);

const tcpSocketAction = v1(
  "TCPSocketAction",
  "TCP connection to a container. Success means that it can be opened.",
  {
    port: required(1, intOrString, "Port number, or name of a container port."),
    host: value(2, string, "Host name to connect to. Defaults to the IP address of the pod."),
  },
);

const grpcAction = v1("GRPCAction", "Call of the gRPC health checking service of a container.", {
  port: required(1, int32, "Port number of the gRPC service, 1 to 65535."),
  service: nullablePointer(
    2,
    string,
    'Service name to put into the health check request. Defaults to "", which asks for the ' +
      "server as a whole.",
    { default: "", openApi: { default: true } },
  ),
});

const probeHandler = v1("ProbeHandler", "Check to perform. Exactly one field must be set.", {
  exec: pointer(1, execAction, "Runs a command inside the container."),
  httpGet: pointer(2, httpGetAction, "Sends an HTTP GET request to the container."),
  tcpSocket: pointer(3, tcpSocketAction, "Opens a TCP connection to the container."),
  grpc: pointer(4, grpcAction, "Calls the standard health service of the container."),
});

export const probe = v1("Probe", "Periodic health check of a container by the kubelet.", {
  handler: inline(1, probeHandler, "Check that the probe performs."),
  initialDelaySeconds: value(
    2,
    int32,
    "Seconds after the start of the container before the first check. Defaults to 0.",
  ),
  timeoutSeconds: value(
    3,
    int32,
    "Seconds after which a check counts as failed. Minimum 1. Defaults to 1.",
  ),
  periodSeconds: value(4, int32, "Seconds between checks. Minimum 1. Defaults to 10."),
  successThreshold: value(
    5,
    int32,
    "Consecutive successes required after a failure. Must be 1 for liveness and startup " +
      "probes. Defaults to 1.",
  ),
  failureThreshold: value(
    6,
    int32,
    "Consecutive failures required after a success. Minimum 1. Defaults to 3.",
  ),
  terminationGracePeriodSeconds: pointer(
    7,
    int64,
    "Seconds that the container gets to terminate after a failed check. Minimum 1. Not " +
      "allowed for readiness probes. Defaults to that of the pod.",
  ),
});

const sleepAction = v1("SleepAction", "Pause in the lifecycle of a container.", {
  seconds: required(
    1,
    int64,
    "Length of the pause, in seconds. Must not exceed the termination grace period.",
  ),
});

const lifecycleHandler = v1(
  "LifecycleHandler",
  "Action to run at a point in the lifecycle of a container. Exactly one field must be set.",
  {
    exec: pointer(1, execAction, "Runs a command inside the container."),
    httpGet: pointer(2, httpGetAction, "Sends an HTTP GET request to the container."),
    tcpSocket: pointer(
      3,
      tcpSocketAction,
      "Deprecated and not supported as a handler. Kept for compatibility.",
    ),
    sleep: pointer(4, sleepAction, "Pauses for a number of seconds."),
  },
);

export const lifecycle = v1(
  "Lifecycle",
  "Actions of the kubelet around the start and the termination of a container.",
  {
    postStart: pointer(
      1,
      lifecycleHandler,
      "Runs right after the container was created. If it fails, the container is terminated " +
        "and restarted according to its policy.",
    ),
    preStop: pointer(
      2,
      lifecycleHandler,
      "Runs before the container is terminated by request, probe failure or preemption; not " +
        "when it exits by itself. Counts against the grace period.",
    ),
    stopSignal: pointer(
      3,
      signal,
      "Signal that terminates the container, for example SIGTERM. Requires spec.os. Defaults " +
        "to that of the image or runtime. Alpha: requires the feature gate " +
        "ContainerStopSignals.",
    ),
  },
);

export type HttpGetAction = Infer<typeof httpGetAction>;
export type Probe = Infer<typeof probe>;
