/** Client configuration of admission and conversion webhooks. */
import {
  required,
  bytes,
  type Infer,
  int32,
  pointer,
  type Path,
  value,
  type Problems,
  string,
  type structs,
} from "#schema";
import { isDns1123Subdomain, isPortNumber } from "#meta";
import { type GoUrl, parseGoUrl } from "./go-url.ts";

/** Declares WebhookClientConfig in the package of a group. */
export function webhookClientConfigOf(declare: ReturnType<typeof structs>) {
  const serviceReference = declare("ServiceReference", "Reference to the Service of a webhook.", {
    namespace: required(1, string, "Namespace of the Service. Required."),
    name: required(2, string, "Name of the Service. Required."),
    path: pointer(
      3,
      string,
      "URL path of requests to the Service, beginning with `/`. Defaults to the root path.",
    ),
    port: pointer(4, int32, "Port of the Service, 1 to 65535. Defaults to 443.", {
      default: 443,
    }),
  });
  return declare(
    "WebhookClientConfig",
    "Information to connect to a webhook. Exactly one of url and service must be set.",
    {
      url: pointer(
        3,
        string,
        "URL of the webhook, in the form `https://host:port/path`, without user, query and " +
          "fragment. Mutually exclusive with service.",
      ),
      service: pointer(
        1,
        serviceReference,
        "Service of a webhook that runs within the cluster. Mutually exclusive with url.",
      ),
      caBundle: value(
        2,
        bytes,
        "CA bundle in PEM to validate the serving certificate with. Defaults to the system " +
          "trust roots of the API server.",
      ),
    },
  );
}

type ClientConfig = Infer<ReturnType<typeof webhookClientConfigOf>>;
type Service = NonNullable<ClientConfig["service"]>;

/**
 * Validates a client configuration. Kubernetes reports a missing namespace at `name` and vice
 * versa.
 */
export function checkClientConfig(config: ClientConfig, path: Path, problems: Problems): void {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined)) {
    problems.required(path, "exactly one of url or service is required");
  } else if (url !== undefined) checkUrl(url, path.child("url"), problems);
  else if (service !== undefined) checkService(service, path.child("service"), problems);
}

const desiredUrlForm = "; desired format: https://host[/path]";

function checkUrl(text: string, path: Path, problems: Problems): void {
  const parsed = parseGoUrl(text);
  if ("fault" in parsed) {
    problems.required(path, `url must be a valid URL: ${parsed.fault}${desiredUrlForm}`);
  } else checkUrlParts(parsed, path, problems);
}

function checkUrlParts(url: GoUrl, path: Path, problems: Problems): void {
  if (url.scheme !== "https") {
    problems.invalid(path, url.scheme, `'https' is the only allowed URL scheme${desiredUrlForm}`);
  }
  if (url.host === "") problems.invalid(path, url.host, `host must be specified${desiredUrlForm}`);
  if (url.user !== undefined) {
    problems.invalid(path, url.user, "user information is not permitted in the URL");
  }
  if (url.fragment !== "") {
    problems.invalid(path, url.fragment, "fragments are not permitted in the URL");
  }
  if (url.query !== "") {
    problems.invalid(path, url.query, "query parameters are not permitted in the URL");
  }
}

function checkService({ namespace, name, path, port }: Service, at: Path, problems: Problems) {
  if (namespace === "") problems.required(at.child("name"));
  if (name === "") problems.required(at.child("namespace"));
  for (const message of isPortNumber(port ?? 443)) {
    problems.invalid(at.child("port"), port, `port is not valid: ${message}`);
  }
  if (path !== undefined) checkServicePath(path, at.child("path"), problems);
}

/** Validates a URL path whose segments must be DNS subdomains; a trailing slash is allowed. */
function checkServicePath(text: string, path: Path, problems: Problems): void {
  if (text === "" || text === "/") return;
  if (!text.startsWith("/")) problems.invalid(path, text, "must start with a '/'");
  const inner = text.slice(1).replace(/\/$/, "");
  for (const [index, segment] of inner.split("/").entries()) {
    if (segment === "") {
      problems.invalid(path, text, `segment[${index}] may not be empty`);
      continue;
    }
    for (const message of isDns1123Subdomain(segment)) {
      problems.invalid(path, text, `segment[${index}]: ${message}`);
    }
  }
}
