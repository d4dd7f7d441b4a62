/** A value from outside without a type: parsed JSON, or the export of a package without types. */
export type Untyped = ReturnType<typeof JSON.parse>;
