import { setMaxListeners } from "node:events";
import { builtinKinds, featureGates } from "#api";
import type { Clock } from "#base";
import { Catalog, type Domain, domainOf, StatusError } from "#meta";
import {
  type AdmissionAttributes,
  createRegistry,
  jsonBody,
  defaultWriteOptions,
  type Registry,
  type ResourceRequest,
} from "#registry";
import type { Authorizer, User } from "#request";
import { memoryBackend, objectStore } from "#storage";
import { type Admission, createAdmission } from "./admission.ts";
import { admissionOrder } from "./order.ts";

/** One request, as far as the plugin under test looks at it. */
export interface TestWrite {
  readonly object?: any;
  readonly old?: any;
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly dryRun?: boolean;
}

/** Plugins under test, in front of a registry in memory with the namespace `ns`. */
export interface TestAdmission {
  readonly admission: Admission;
  readonly clock: TestClock;
  /**
   * Permissions of the user, as `verb resource/subresource name`; empty to begin with. Everything
   * else is refused.
   */
  readonly permissions: Set<string>;
  /** Stores an object through the registry: `v1/limitranges/ns`. It is admitted like any other. */
  post(path: string, object: object): Promise<any>;
  /** The stored object at `v1/limitranges/ns/name`. */
  get(path: string): Promise<any>;
  /** Replaces the status of a stored object. */
  putStatus(path: string, status: object): Promise<void>;
  /**
   * Runs both phases for `create v1/pods/ns/p` and returns `accepted`, or the refusal as
   * `403 pods "p" is forbidden: …`. The object is mutated in place.
   */
  admit(request: string, write?: TestWrite): Promise<string>;
  /** One phase, without waiting for it: undefined = the plugins had nothing to wait for. */
  phase(phase: "mutating" | "validating", request: string, write?: TestWrite): unknown;
  /** Warnings of both phases. */
  warnings(request: string, write?: TestWrite): Promise<readonly string[]>;
}

export interface TestAdmissionOptions {
  /** Configuration by plugin, as in the file of `--admission-control-config-file`. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly gates?: readonly string[];
}

/** Only the named plugins are on. */
export async function testAdmission(
  plugins: string | readonly string[],
  { configuration = {}, gates = [] }: TestAdmissionOptions = {},
): Promise<TestAdmission> {
  const catalog = new Catalog(builtinKinds, domainOf(), () => true);
  const clock = new TestClock();
  const permissions = new Set<string>();
  const admission = createAdmission({
    catalog,
    clock,
    registry: () => registry,
    gates: (name) => gates.includes(name),
    authorizer: authorizerOf(permissions),
    plugins: new Set(typeof plugins === "string" ? [plugins] : plugins),
    configuration: parsedConfiguration(configuration, catalog.domain),
  });
  const registry: Registry = registryBehind(admission, { catalog, clock });
  const context = new AbortController();
  // All requests of a test share it.
  setMaxListeners(0, context.signal);
  const requestOf = (path: string, { user = "tester", groups = [] }: TestWrite = {}) => {
    const asUser: User = { name: user, uid: "", groups, extra: new Map() };
    return { ...locate(catalog, path), user: asUser, context, userAgent: "test" };
  };
  const attributesOf = (text: string, write: TestWrite = {}): AdmissionAttributes => {
    const [operation, path = ""] = text.split(" ");
    const { object, old, dryRun = false } = write;
    const request = requestOf(path, write);
    return { request, operation: operation as "create", dryRun, object, old };
  };
  const both = async (request: string, write?: TestWrite): Promise<readonly string[]> => {
    const attributes = attributesOf(request, write);
    const first = (await admission.mutating(attributes)) ?? [];
    return [...first, ...((await admission.validating(attributes)) ?? [])];
  };
  const post = async (path: string, object: object): Promise<any> => {
    const { item } = await registry.create(requestOf(path), jsonBody(object), defaultWriteOptions);
    return item.object;
  };
  const get = async (path: string): Promise<any> =>
    (await registry.get(requestOf(path), { resourceVersion: "" })).object;
  await post("v1/namespaces", { metadata: { name: "ns" } });
  return {
    admission,
    clock,
    permissions,
    post,
    get,
    putStatus: async (path, status) => {
      const body = jsonBody({ ...(await get(path)), status });
      await registry.update(requestOf(`${path}/status`), body, defaultWriteOptions);
    },
    admit: (request, write) => refusal(both(request, write)),
    phase: (phase, request, write) => admission[phase](attributesOf(request, write)),
    warnings: both,
  };
}

function parsedConfiguration(
  configuration: Readonly<Record<string, unknown>>,
  domain: Domain,
): ReadonlyMap<string, unknown> {
  const parsed = Object.entries(configuration).map(([name, value]) => {
    const plugin = admissionOrder.find((each) => each.name === name);
    return [name, plugin?.parseConfiguration?.(value, { domain, readFile: () => "" })] as const;
  });
  return new Map(parsed);
}

function authorizerOf(permissions: ReadonlySet<string>): Authorizer {
  return {
    authorize: ({ request: { verb, resource, subresource, name } }) => {
      const asked = `${verb} ${resource}/${subresource} ${name}`.trim();
      return { verdict: permissions.has(asked) ? "allow" : "no-opinion", reason: "" };
    },
  };
}

function registryBehind(
  { mutating, validating }: Admission,
  common: { readonly catalog: Catalog; readonly clock: Clock },
): Registry {
  return createRegistry({
    ...common,
    store: objectStore(memoryBackend(), { root: "/registry" }),
    gates: featureGates(new Map()),
    storageMediaType: "json",
    eventTtlSeconds: 3600,
    minRequestTimeoutMs: 1_800_000,
    mutating: [mutating],
    validating: [validating],
  });
}

type Place = Pick<ResourceRequest, "resource" | "namespace" | "name" | "subresource">;

/** `v1/pods/ns/p/status`, `storage.k8s.io/v1/storageclasses//fast`. */
function locate(catalog: Catalog, path: string): Place {
  const parts = path.split("/");
  const own = parts[0] === "v1" ? 1 : 2;
  const groupVersion = parts.slice(0, own).join("/");
  const [plural, namespace = "", name = "", subresource = ""] = parts.slice(own);
  const resource = catalog.resources.find(
    (each) => each.groupVersion === groupVersion && each.plural === plural,
  );
  if (resource === undefined) throw new Error(`no resource at ${path}`);
  return { resource, namespace, name, subresource };
}

/** `accepted`, or code and message of the refusal. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.status.code} ${error.status.message}`;
  }
  return "accepted";
}

/** Time moves only by `advance`; sleepers are woken at once, so that retries take no time. */
class TestClock implements Clock {
  #now = Date.parse("2030-01-01T00:00:00Z");
  /** Milliseconds of each sleep. */
  readonly slept: number[] = [];

  now(): number {
    return this.#now;
  }
  nowMicros(): number {
    return this.#now * 1000;
  }
  monotonic(): number {
    return this.#now;
  }
  async sleep(ms: number): Promise<void> {
    this.slept.push(ms);
  }
  advance(ms: number): void {
    this.#now += ms;
  }
}
