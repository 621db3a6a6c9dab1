import { isAvailable, type ApiServices, type RemoteApiService } from "../api-services.ts";

/** The APIService of that name if another server serves its group version. */
export function remoteApiService(
  apiServices: ApiServices,
  name: string,
): RemoteApiService | undefined {
  const spec = apiServices.get(name)?.spec;
  return spec && apiServices.remoteFor(`/apis/${spec.group ?? ""}/${spec.version ?? ""}`);
}

/** Whether the server may answer otherwise than before: priorities alone do not matter. */
export function mayAnswerOtherwise(before: RemoteApiService, now: RemoteApiService): boolean {
  const part = ({ metadata, spec }: RemoteApiService) => {
    const { groupPriorityMinimum: _group, versionPriority: _version, ...rest } = spec;
    return JSON.stringify([metadata.uid, rest]);
  };
  return part(before) !== part(now) || isAvailable(before) !== isAvailable(now);
}
