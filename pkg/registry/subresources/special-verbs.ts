import type {
  Body,
  GetOptions,
  Item,
  ItemList,
  ListOptions,
  PatchOptions,
  Target,
  WriteAnswer,
  WriteOptions,
} from "../contract.ts";
import type { Environment } from "../context.ts";

/** Verbs of a subresource that take the place of the usual ones. */
export interface SpecialVerbs {
  readonly get?: (environment: Environment, target: Target, options: GetOptions) => Promise<Item>;
  readonly list?: (
    environment: Environment,
    target: Target,
    options: ListOptions,
  ) => Promise<ItemList>;
  readonly create?: (
    environment: Environment,
    target: Target,
    request: { readonly body: Body; readonly options: WriteOptions },
  ) => Promise<WriteAnswer>;
  readonly update?: (
    environment: Environment,
    target: Target,
    request: { readonly body: Body; readonly options: WriteOptions },
  ) => Promise<WriteAnswer>;
  readonly patch?: (
    environment: Environment,
    target: Target,
    request: { readonly body: Body; readonly options: PatchOptions },
  ) => Promise<WriteAnswer>;
}
