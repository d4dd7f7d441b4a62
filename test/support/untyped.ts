/** What comes from outside without a type: parsed JSON, and packages that publish none. */
export type Untyped = ReturnType<typeof JSON.parse>;
