import type { Deployment, ReplicaSet } from "#kinds";
import { goQuote } from "#meta";
import type { DeploymentSync } from "./deployment-sync.ts";
import { allSets } from "./deployment-status.ts";
import { deploymentTemplate, isSameTemplate } from "./replica-sets.ts";

const revisionNotFound = "DeploymentRollbackRevisionNotFound";

/** Rolls back as the annotation `deprecated.deployment.rollback.to` requests, and removes it. */
export async function rollBack(sync: DeploymentSync, requested: bigint): Promise<void> {
  await sync.syncRevision({ create: true });
  const sets = allSets(sync.owned);
  const revision = requested === 0n ? lastRevision(sync, sets) : requested;
  if (revision === 0n) {
    sync.record("Warning", revisionNotFound, "Unable to find last revision.");
    return clearRollback(sync, sync.deployment);
  }
  const found = sets.find((set) => sync.annotations.revisionOf(set) === revision);
  if (found === undefined) {
    sync.record("Warning", revisionNotFound, "Unable to find the revision to rollback to.");
    return clearRollback(sync, sync.deployment);
  }
  await rollBackTo(sync, found, revision);
}

async function rollBackTo(sync: DeploymentSync, set: ReplicaSet, revision: bigint): Promise<void> {
  const { deployment } = sync;
  const { metadata, spec } = deployment;
  const name = goQuote(metadata.name);
  if (isSameTemplate(spec.template, set.spec.template)) {
    const message = `The rollback revision contains the same template as current deployment ${name}`;
    sync.record("Warning", "DeploymentRollbackTemplateUnchanged", message);
    return clearRollback(sync, deployment);
  }
  const annotations = sync.annotations.forRollback(deployment, set);
  const template = deploymentTemplate(set.spec.template);
  const next = { ...deployment, metadata: { ...metadata, annotations } };
  await clearRollback(sync, { ...next, spec: { ...spec, template } });
  const message = `Rolled back deployment ${name} to revision ${revision}`;
  sync.record("Normal", "DeploymentRollback", message);
}

async function clearRollback(sync: DeploymentSync, deployment: Deployment): Promise<void> {
  const { [sync.annotations.rollbackTo]: _rollback, ...annotations } =
    deployment.metadata.annotations ?? {};
  await sync.writeDeployment({ ...deployment, metadata: { ...deployment.metadata, annotations } });
}

/** The second highest revision; 0 = none. */
function lastRevision(sync: DeploymentSync, sets: readonly ReplicaSet[]): bigint {
  const revisions = sets.map((set) => sync.annotations.revisionOf(set) ?? 0n);
  return revisions.toSorted((left, right) => Number(right > left) - Number(right < left))[1] ?? 0n;
}
