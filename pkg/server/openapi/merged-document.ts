/** The Swagger 2.0 document of this server merged with those of aggregated servers. */
import { mergeSpecs, type RemoteSpec } from "#aggregator";
import { memoize } from "#base";
import type { Catalog } from "#meta";
import { memoizeContent } from "../discovery/memoize-parts.ts";
import { type Entry, RemoteEntry, dialectOf } from "./dialects.ts";
import {
  type OpenApiDocument,
  openApiV2Document,
  openApiV2Entries,
  printDocument,
  sortedByName,
} from "./documents.ts";
import { definitionsV2, pathsV2 } from "./shapes.ts";

/** Returns the merged document, which is rebuilt on the first request after a change. */
export function mergedV2Document(
  catalog: Catalog,
  specs: readonly RemoteSpec[],
): Promise<OpenApiDocument> {
  return specs.length === 0 ? openApiV2Document(catalog) : merged(catalog)(specs);
}

const merged = memoizeContent((catalog) =>
  memoize(async (specs: readonly RemoteSpec[]): Promise<OpenApiDocument> => {
    const { info, paths, schemas } = await openApiV2Entries(catalog);
    const pathsByName = byName(paths);
    const schemasByName = byName(schemas);
    const added = await mergeSpecs(
      {
        hasPath: (path) => pathsByName.has(path),
        definition: (name) => schemasByName.get(name)?.valueText,
      },
      specs,
    );
    for (const [name, text] of added.paths) {
      pathsByName.set(name, new RemoteEntry(name, text, pathsV2));
    }
    for (const [name, text] of added.definitions) {
      schemasByName.set(name, new RemoteEntry(name, text, definitionsV2));
    }
    return printDocument(dialectOf("v2", catalog), {
      info,
      paths: sortedByName(pathsByName.values()),
      schemas: sortedByName(schemasByName.values()),
    });
  }),
);

function byName(entries: readonly Entry[]): Map<string, Entry> {
  return new Map(entries.map((entry) => [entry.name, entry]));
}
