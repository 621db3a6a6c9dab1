import { hostAndPort } from "#base";
import {
  type ApiAddress,
  isReadyEndpoint,
  type ResolvableService,
  type ServiceReader,
  type ServiceSlice,
} from "#request";
import type { RemoteApiService } from "../api-services.ts";
import { BackendError } from "../contract.ts";
import type { Availability } from "./conditions.ts";

/** Requests the discovery document of a server from one address of its Service. */
export interface DiscoveryProbe {
  /** @throws BackendError if the Service cannot be resolved */
  readonly addressesOf: (apiService: RemoteApiService) => Promise<readonly ApiAddress[]>;
  /**
   * Resolves to the status code.
   * @throws BackendError
   */
  readonly probe: (
    apiService: RemoteApiService,
    request: {
      readonly address: ApiAddress;
      readonly path: string;
      readonly timeoutMs: number;
    },
  ) => Promise<number>;
}

interface CheckParts {
  readonly reader: ServiceReader;
  readonly discovery: DiscoveryProbe;
}

/** Number of probes; each may reach another endpoint. */
const attempts = 5;
const probeMs = 5_000;
const defaultPort = 443;

/**
 * Checks the Service of an APIService by kube-aggregator's rules: it exists, has the port and a ready
 * endpoint, and the server responds to the discovery request with 2xx. The serving certificate is not
 * verified.
 */
export async function checkAvailability(
  { reader, discovery }: CheckParts,
  apiService: RemoteApiService,
): Promise<Availability> {
  const { namespace, name, port = defaultPort } = apiService.spec.service;
  const subject = `service/${name} in ${JSON.stringify(namespace)}`;
  const service = await reader.service({ namespace, name });
  if (service === undefined) return failed("ServiceNotFound", `${subject} is not present`);
  if ((service.spec.type ?? "ClusterIP") === "ClusterIP") {
    const found = portOf(service, port);
    if (found === undefined) {
      return failed("ServicePortError", `${subject} is not listening on port ${port}`);
    }
    const slices = await reader.slices({ namespace, name });
    if (slices.length === 0) {
      return failed("EndpointsNotFound", `cannot find endpointslices for ${subject}`);
    }
    const portName = found.name ?? "";
    if (!slices.some((slice) => hasEndpoint(slice, portName))) {
      const missing = `have no addresses with port name ${JSON.stringify(portName)}`;
      return failed("MissingEndpoints", `endpointslices for ${subject} ${missing}`);
    }
  }
  const failure = await discoveryFailure(discovery, apiService);
  if (failure !== undefined) return failed("FailedDiscoveryCheck", failure);
  return { status: "True", reason: "Passed", message: "all checks passed" };
}

function failed(reason: string, message: string): Availability {
  return { status: "False", reason, message };
}

function portOf({ spec }: ResolvableService, port: number) {
  return spec.ports?.find((each) => each.port === port);
}

function hasEndpoint({ endpoints, ports }: ServiceSlice, portName: string): boolean {
  const isReady = endpoints?.some(isReadyEndpoint) ?? false;
  const hasPort = ports?.some(({ name = "", port }) => name === portName && port !== undefined);
  return isReady && hasPort === true;
}

/** The error message if all probes fail; undefined if one succeeds. */
async function discoveryFailure(
  discovery: DiscoveryProbe,
  apiService: RemoteApiService,
): Promise<string | undefined> {
  const first = await attempt(discovery, apiService);
  if (first === undefined) return undefined;
  const others = Array.from({ length: attempts - 1 }, () => attempt(discovery, apiService));
  const results = await Promise.all(others);
  return results.includes(undefined) ? undefined : (results.at(-1) ?? first);
}

async function attempt(
  discovery: DiscoveryProbe,
  apiService: RemoteApiService,
): Promise<string | undefined> {
  const { group = "", version = "" } = apiService.spec;
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  try {
    const [address] = await discovery.addressesOf(apiService);
    if (address === undefined) return "no addresses";
    const url = `https://${hostAndPort(address)}${path}`;
    const failing = `failing or missing response from ${url}`;
    try {
      const code = await discovery.probe(apiService, { address, path, timeoutMs: probeMs });
      const isGood = code >= 200 && code < 300;
      return isGood ? undefined : `${failing}: bad status from ${url}: ${code}`;
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      const isTimeout = error.failure === "timeout";
      const detail = isTimeout ? " (Client.Timeout exceeded while awaiting headers)" : "";
      return `${failing}: Get ${JSON.stringify(url)}: ${error.message}${detail}`;
    }
  } catch (error) {
    if (error instanceof BackendError) return error.message;
    throw error;
  }
}
