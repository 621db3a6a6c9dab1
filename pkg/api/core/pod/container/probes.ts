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

const execAction = v1(
  "ExecAction",
  "Command to run inside a container, with the container's root as working directory.",
  {
    command: value(
      1,
      list(string),
      "Command and its arguments, not run in a shell. Exit code 0 means success.",
      {
        listType: "atomic",
      },
    ),
  },
);

const httpHeader = v1("HTTPHeader", "Header of an HTTP request.", {
  name: required(1, string, "Name of the header field."),
  value: required(2, string, "Value of the header field."),
});

const httpGetAction = v1(
  "HTTPGetAction",
  "HTTP GET request to a container. It is successful if the status code is 200 to 399.",
  {
    path: value(1, string, "Path of the request, optionally with a query. Defaults to /."),
    port: required(2, intOrString, "Port number, or name of a container port."),
    host: value(
      3,
      string,
      "Host to connect to. Defaults to the IP address of the pod; to send another Host header, " +
        "set it in httpHeaders.",
    ),
    scheme: value(
      4,
      named("v1.URIScheme", "HTTP", "HTTPS"),
      "Scheme of the request: one of HTTP, HTTPS (without verification of the certificate). " +
        "Defaults to HTTP.",
    ),
    httpHeaders: value(
      5,
      list(httpHeader),
      "Custom headers of the request. Repeated headers are allowed.",
      { listType: "atomic" },
    ),
  },
);

const tcpSocketAction = v1(
  "TCPSocketAction",
  "TCP connection to a container. It is successful if the connection can be opened.",
  {
    port: required(1, intOrString, "Port number, or name of a container port."),
    host: value(2, string, "Host to connect to. Defaults to the IP address of the pod."),
  },
);

const grpcAction = v1(
  "GRPCAction",
  "Call of the gRPC health checking service of a container. It is successful if the response " +
    "is SERVING.",
  {
    port: required(1, int32, "Port number of the gRPC service, 1 to 65535."),
    service: nullablePointer(
      2,
      string,
      'Service name in the health check request. Defaults to "", which asks for the server as a ' +
        "whole.",
      { default: "", openApi: { default: true } },
    ),
  },
);

const probeHandler = v1("ProbeHandler", "Action of a probe. Exactly one field must be set.", {
  exec: pointer(1, execAction, "Runs a command inside the container."),
  httpGet: pointer(2, httpGetAction, "Sends an HTTP GET request to the container."),
  tcpSocket: pointer(3, tcpSocketAction, "Opens a TCP connection to the container."),
  grpc: pointer(4, grpcAction, "Calls the gRPC health checking service of the container."),
});

export const probe = v1(
  "Probe",
  "Periodic health check that the kubelet performs on a container.",
  {
    handler: inline(1, probeHandler, "Action of the probe."),
    initialDelaySeconds: value(
      2,
      int32,
      "Seconds between the start of the container and the first probe. Defaults to 0.",
    ),
    timeoutSeconds: value(
      3,
      int32,
      "Seconds after which the probe times out. Minimum 1. Defaults to 1.",
    ),
    periodSeconds: value(4, int32, "Seconds between two probes. Minimum 1. Defaults to 10."),
    successThreshold: value(
      5,
      int32,
      "Consecutive successes after which a failed probe counts as successful. Must be 1 for " +
        "liveness and startup probes. Defaults to 1.",
    ),
    failureThreshold: value(
      6,
      int32,
      "Consecutive failures after which the probe counts as failed. Minimum 1. Defaults to 3.",
    ),
    terminationGracePeriodSeconds: pointer(
      7,
      int64,
      "Seconds that the container has to terminate gracefully when the probe fails. Minimum 1. " +
        "Not allowed for readiness probes. Defaults to terminationGracePeriodSeconds of the pod.",
    ),
  },
);

const sleepAction = v1(
  "SleepAction",
  "Pause before a container is terminated or after it is started.",
  {
    seconds: required(1, int64, "Seconds to sleep. Must not exceed the termination grace period."),
  },
);

const lifecycleHandler = v1(
  "LifecycleHandler",
  "Action of a lifecycle hook. Exactly one field must be set.",
  {
    exec: pointer(1, execAction, "Runs a command inside the container."),
    httpGet: pointer(2, httpGetAction, "Sends an HTTP GET request to the container."),
    tcpSocket: pointer(
      3,
      tcpSocketAction,
      "Deprecated: not supported as a lifecycle hook, and kept for backward compatibility.",
    ),
    sleep: pointer(4, sleepAction, "Pauses the container's lifecycle for a number of seconds."),
  },
);

export const lifecycle = v1(
  "Lifecycle",
  "Lifecycle hooks: actions of the kubelet in response to the start and termination of a " +
    "container.",
  {
    postStart: pointer(
      1,
      lifecycleHandler,
      "Hook that runs immediately after the container was created. If it fails, the container " +
        "is killed, and restarted as its restart policy says.",
    ),
    preStop: pointer(
      2,
      lifecycleHandler,
      "Hook that runs before the container is terminated by an API request, a failed probe, " +
        "preemption or the like, but not when it exits by itself. It counts against the " +
        "termination grace period.",
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
