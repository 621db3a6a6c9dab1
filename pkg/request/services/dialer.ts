import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";

/** Namespace and name of an object. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** An address that objects of the API name: of a pod, an endpoint, a node, or in a URL. */
export interface ApiAddress {
  /** IP address or host name, without brackets. */
  readonly host: string;
  readonly port: number;
  /** The pod whose address it is, by what the object that names it claims. */
  readonly pod?: NamespacedName | undefined;
  /** The node of the endpoint, by the same claim. */
  readonly node?: string | undefined;
  /** The node whose kubelet serves at the address. */
  readonly kubeletOf?: string | undefined;
  /** The only IP addresses to which a connection to the name `host` may go; absent = those of DNS. */
  readonly resolved?: readonly string[] | undefined;
}

/** What is at an address that the API names. */
export type AddressRoute =
  /** Something on the network: the address is dialled. */
  | { readonly kind: "ordinary" }
  /** A pod whose connections go to another place, which is dialled instead. */
  | { readonly kind: "forwarded"; readonly host: string; readonly port: number }
  /** An address that a simulation invented: it belongs to others on the real network. */
  | { readonly kind: "simulated"; readonly reason: string };

/** Decides what is at addresses that the API names. */
export interface AddressRouter {
  /** @throws the signal's reason */
  route(address: ApiAddress, signal: AbortSignal | undefined): Promise<AddressRoute>;
}

/** Nothing can be reached at the address; the message is the reason. */
export class SimulatedAddress extends Error {
  override readonly name = "SimulatedAddress";
}

/** Where a connection goes: options of Node's sockets. Only a Dialer creates them. */
class Target {
  /** Makes the type nominal, so that no other code can dial an address of the API. */
  protected readonly isRouted = true;

  constructor(
    readonly host: string,
    readonly port: number,
    /** Resolves `host` if it is a name. */
    readonly lookup: LookupFunction,
  ) {}
}

export type DialTarget = Target;

/** Every connection of the API server to an address that the API names goes to a target of this class. */
export class Dialer {
  constructor(private readonly router: AddressRouter) {}

  /** @throws SimulatedAddress, or the signal's reason */
  async targetOf(address: ApiAddress, signal?: AbortSignal): Promise<DialTarget> {
    const route = await this.router.route(address, signal);
    if (route.kind === "simulated") throw new SimulatedAddress(route.reason);
    const { host, port } = route.kind === "forwarded" ? route : address;
    const resolved = route.kind === "forwarded" ? undefined : address.resolved;
    return new Target(host, port, (name, { all }, callback) => {
      this.addressesOf(name, port, resolved).then(
        (found) => {
          if (all === true) return callback(null, found);
          callback(null, found[0]!.address, found[0]!.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, ""),
      );
    });
  }

  /** The IP addresses of a name that may be dialled. @throws SimulatedAddress, or an error of DNS */
  private async addressesOf(name: string, port: number, resolved: readonly string[] | undefined) {
    const found =
      resolved?.map((address) => ({ address, family: isIP(address) })) ??
      (await lookup(name, { all: true }));
    const routes = await Promise.all(
      found.map(({ address }) => this.router.route({ host: address, port }, undefined)),
    );
    const ordinary = found.filter((_, index) => routes[index]?.kind === "ordinary");
    if (ordinary.length > 0) return ordinary;
    const reasons = routes.flatMap((route) => (route.kind === "simulated" ? [route.reason] : []));
    throw new SimulatedAddress(reasons[0] ?? `lookup ${name}: no such host`);
  }
}

/** Dials nothing, for servers that are built without a dialer. */
export const closedDialer = new Dialer({
  route: async () => ({ kind: "simulated", reason: "this server dials no addresses" }),
});
