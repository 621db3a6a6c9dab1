import { isAvailable, type ApiServices, type RemoteApiService } from "../api-services.ts";

/** The APIService of that name if it has a Service, else undefined. */
export function remoteApiService(
  apiServices: ApiServices,
  name: string,
): RemoteApiService | undefined {
  const spec = apiServices.get(name)?.spec;
  return spec && apiServices.remoteFor(`/apis/${spec.group ?? ""}/${spec.version ?? ""}`);
}

/** Whether the change can affect the server's responses: changes of priorities cannot. */
export function mayChangeResponses(before: RemoteApiService, now: RemoteApiService): boolean {
  const part = ({ metadata, spec }: RemoteApiService) => {
    const { groupPriorityMinimum: _group, versionPriority: _version, ...rest } = spec;
    return JSON.stringify([metadata.uid, rest]);
  };
  return part(before) !== part(now) || isAvailable(before) !== isAvailable(now);
}
