import { decodeConfiguration, kubernetes, refuseProblems, resolve } from "#meta";
import { int32, pointer, Path, Problems, string, structs } from "#schema";

/** Collector endpoint and sampling rate. */
export interface TracingConfiguration {
  /** `http://host:port` of a collector with OTLP over gRPC, without TLS. */
  readonly endpoint: string;
  /** Sampling rate of requests without a sampling decision of the client. */
  readonly samplingRatePerMillion: number;
}

const v1 = structs("apiserver/pkg/apis/apiserver/v1");

const configurationStruct = v1("TracingConfiguration", "How requests are traced.", {
  endpoint: pointer(1, string, "Collector, host:port; localhost:4317 if absent."),
  samplingRatePerMillion: pointer(2, int32, "Requests out of a million that are recorded."),
});

const versions = ["v1", "v1beta1", "v1alpha1"].map((version) =>
  resolve(`apiserver.config.{api}/${version}`, kubernetes),
);
const defaultEndpoint = "localhost:4317";
const maxSamplesPerMillion = 1_000_000;

/**
 * Parses and validates a TracingConfiguration.
 * @throws ConfigurationFault
 */
export function parseTracingConfiguration(text: string): TracingConfiguration {
  const configuration = decodeConfiguration(text, configurationStruct, versions);
  const { endpoint = defaultEndpoint, samplingRatePerMillion = 0 } = configuration;
  const problems = new Problems();
  const url = urlOf(endpoint, Path.of("endpoint"), problems);
  checkRate(samplingRatePerMillion, Path.of("samplingRatePerMillion"), problems);
  refuseProblems(problems);
  return { endpoint: url, samplingRatePerMillion };
}

/** URL of a gRPC target: `host:port` or `dns://[authority]/host:port`. */
function urlOf(endpoint: string, path: Path, problems: Problems): string {
  const [, scheme = "dns", place = endpoint] = /^([\w-]+):\/\/(.*)$/.exec(endpoint) ?? [];
  if (scheme !== "dns") {
    problems.invalid(path, endpoint, `unsupported scheme: ${scheme}; options are none or dns`);
    return "";
  }
  const host = place.slice(place.indexOf("/") + 1);
  const url = `http://${host}`;
  const isPlace = /^[^\s/@?#]+:\d+$/.test(host) && URL.canParse(url);
  if (!isPlace) problems.invalid(path, endpoint, "must be host:port");
  return url;
}

function checkRate(rate: number, path: Path, problems: Problems): void {
  if (rate < 0) problems.invalid(path, rate, "sampling rate must be positive");
  if (rate > maxSamplesPerMillion) {
    const story = "sampling rate per million must be less than or equal to one million";
    problems.invalid(path, rate, story);
  }
}
