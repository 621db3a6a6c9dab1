import type {
  Body,
  GetOptions,
  Item,
  ItemList,
  ListOptions,
  PatchOptions,
  ResourceRequest,
  WriteResponse,
  WriteOptions,
} from "../contract.ts";
import type { RegistryContext } from "../context.ts";

/** Handlers of a resource or subresource that replace the generic verbs. */
export interface SpecialVerbs {
  readonly get?: (
    registry: RegistryContext,
    request: ResourceRequest,
    options: GetOptions,
  ) => Promise<Item>;
  readonly list?: (
    registry: RegistryContext,
    request: ResourceRequest,
    options: ListOptions,
  ) => Promise<ItemList>;
  readonly create?: (
    registry: RegistryContext,
    request: ResourceRequest,
    input: { readonly body: Body; readonly options: WriteOptions },
  ) => Promise<WriteResponse>;
  readonly update?: (
    registry: RegistryContext,
    request: ResourceRequest,
    input: { readonly body: Body; readonly options: WriteOptions },
  ) => Promise<WriteResponse>;
  readonly patch?: (
    registry: RegistryContext,
    request: ResourceRequest,
    input: { readonly body: Body; readonly options: PatchOptions },
  ) => Promise<WriteResponse>;
}
