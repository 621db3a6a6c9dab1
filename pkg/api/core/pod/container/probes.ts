/** Checks of a container's health, and what happens at its start and end. */
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

/** The signals numbered 1 to 31 and their aliases. */
const plainSignals =
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT " +
  "STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ";

function upTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}

/** The real-time signals, counted from the lowest and from the highest one. */
const realTimeSignals = [
  "RTMIN",
  ...upTo(15).map((offset) => `RTMIN+${offset}`),
  ...upTo(14).map((offset) => `RTMAX-${15 - offset}`),
  "RTMAX",
];

export const signals = [...plainSignals.split(" "), ...realTimeSignals].map((name) => `SIG${name}`);

export const signal = named("v1.Signal", ...signals);

const execAction = v1("ExecAction", "Runs a command in the container.", {
  command: value(1, list(string), "The command with its arguments; no shell is involved.", {
    listType: "atomic",
  }),
});

const httpHeader = v1("HTTPHeader", "A header of a request.", {
  name: required(1, string, "Name of the header."),
  value: required(2, string, "Value of the header."),
});

const httpGetAction = v1("HTTPGetAction", "Sends an HTTP GET.", {
  path: value(1, string, "Path of the request; `/` by default."),
  port: required(2, intOrString, "Number or name of the port."),
  host: value(3, string, "Host to connect to; the pod's IP by default."),
  scheme: value(4, named("v1.URIScheme", "HTTP", "HTTPS"), "HTTP, which is the default, or HTTPS."),
  httpHeaders: value(5, list(httpHeader), "Headers of the request.", { listType: "atomic" }),
});

const tcpSocketAction = v1("TCPSocketAction", "Opens a TCP connection.", {
  port: required(1, intOrString, "Number or name of the port."),
  host: value(2, string, "Host to connect to; the pod's IP by default."),
});

const grpcAction = v1("GRPCAction", "Calls the gRPC health service.", {
  port: required(1, int32, "Number of the port."),
  service: nullablePointer(2, string, "Name of the service in the request.", { default: "" }),
});

const probeHandler = v1("ProbeHandler", "How to check; exactly one field is set.", {
  exec: pointer(1, execAction, "Run a command; exit status 0 is healthy."),
  httpGet: pointer(2, httpGetAction, "Send an HTTP GET; 200 to 399 is healthy."),
  tcpSocket: pointer(3, tcpSocketAction, "Open a TCP connection."),
  grpc: pointer(4, grpcAction, "Call the gRPC health service."),
});

export const probe = v1("Probe", "A repeated check of a container.", {
  handler: inline(1, probeHandler, "How to check."),
  initialDelaySeconds: value(2, int32, "Seconds after the start before the first check."),
  timeoutSeconds: value(3, int32, "Seconds after which a check has failed; 1 by default."),
  periodSeconds: value(4, int32, "Seconds from check to check; 10 by default."),
  successThreshold: value(5, int32, "Successes in a row that make it healthy again; 1 by default."),
  failureThreshold: value(6, int32, "Failures in a row that make it unhealthy; 3 by default."),
  terminationGracePeriodSeconds: pointer(
    7,
    int64,
    "Seconds to end in after a failure; the pod's when absent.",
  ),
});

const sleepAction = v1("SleepAction", "Waits.", {
  seconds: required(1, int64, "Seconds to wait."),
});

const lifecycleHandler = v1("LifecycleHandler", "What to do; exactly one field is set.", {
  exec: pointer(1, execAction, "Run a command."),
  httpGet: pointer(2, httpGetAction, "Send an HTTP GET."),
  tcpSocket: pointer(3, tcpSocketAction, "Kept for old objects; does nothing."),
  sleep: pointer(4, sleepAction, "Wait."),
});

export const lifecycle = v1("Lifecycle", "What happens at the start and end of a container.", {
  postStart: pointer(
    1,
    lifecycleHandler,
    "Done right after the start; failure ends the container.",
  ),
  preStop: pointer(2, lifecycleHandler, "Done before the container is ended by the system."),
  stopSignal: pointer(3, signal, "Signal that ends the container; the image's when absent."),
});

export type HttpGetAction = Infer<typeof httpGetAction>;
export type Probe = Infer<typeof probe>;
