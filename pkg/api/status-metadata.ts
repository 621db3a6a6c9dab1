interface HasMetadata {
  metadata: object;
}

/** For kinds whose status subresource leaves metadata alone, but for who manages which field. */
export function keepMetadata(object: HasMetadata, old: HasMetadata): void {
  const { managedFields, resourceVersion } = object.metadata as Record<string, unknown>;
  const metadata = { ...old.metadata } as Record<string, unknown>;
  for (const [field, value] of Object.entries({ managedFields, resourceVersion })) {
    if (value === undefined) delete metadata[field];
    else metadata[field] = value;
  }
  object.metadata = metadata;
}
