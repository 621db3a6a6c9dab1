/** The controllers in the process of the API server itself. */
import { hostname } from "node:os";
import { signToken } from "#authn";
import { type Clock, cryptoRandom } from "#base";
import { Informers, RegistryClient } from "#client";
import { runServerIdentity, selectControllers } from "#controllers";
import type { Catalog } from "#meta";
import type { Registry } from "#registry";
import { noInstruments, type User } from "#request";
import { apiserver } from "./bootstrap.ts";
import { accountKeys, type ServiceAccountOptions } from "./service-accounts.ts";

/** Who the controllers are to the API. */
const controllerUser: User = { ...apiserver, name: "system:kube-controller-manager" };

/** Other servers believe that a namespace lives on for so long after its deletion. */
const settleMs = 1_500;

export interface LocalControllers {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
  /** Authorities of this server (PEM); "" = it has no certificate. */
  readonly rootCa: string;
  readonly serviceAccounts: ServiceAccountOptions | undefined;
  /** Nodes may join with tokens, which are to be signed with and cleaned up. */
  readonly bootstrapTokens: boolean;
  /** Other servers may use the same store. */
  readonly isShared: boolean;
}

/** Runs every controller until the signal aborts. */
export async function runLocalControllers(local: LocalControllers): Promise<void> {
  const { clock, signal, report, rootCa, serviceAccounts, bootstrapTokens, isShared } = local;
  const userAgent = "kube-controller-manager";
  const client = new RegistryClient({ ...local, user: controllerUser, userAgent });
  const common = { client, clock, random: cryptoRandom, signal, report };
  const informers = new Informers(common);
  const context = { ...common, informers, instruments: noInstruments };
  const { key } = accountKeys(serviceAccounts);
  const settings = {
    settleMs: isShared ? settleMs : 0,
    rootCa,
    signToken: (claims: Readonly<Record<string, string>>) => signToken(claims, key),
  };
  const names = bootstrapTokens ? ["*", "bootstrapsigner", "tokencleaner"] : ["*"];
  await Promise.all(selectControllers(names).map(({ run }) => run(context, settings)));
  await informers.ended();
}

/** Keeps the Lease by which the others know this server; `port`: where it listens. */
export async function runIdentity(
  local: Pick<LocalControllers, "registry" | "catalog" | "clock" | "signal" | "report">,
  port: number,
): Promise<void> {
  const client = new RegistryClient({ ...local, user: apiserver, userAgent: "kube-apiserver" });
  await runServerIdentity({ ...local, client, random: cryptoRandom, hostname: hostname(), port });
}
