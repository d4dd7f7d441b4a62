/** The controls of a devnet, as its nodes offer them to the dashboard. A node of `bloomery start` has none. */

export interface DevnetControls {
  /**
   * Asks the supervisor of the devnet.
   *
   * @param operation name of an operation of the control port, such as `mine`
   * @throws ProtocolError `USAGE` for wrong parameters, `CONTROL_UNKNOWN`, or the refusal of the supervisor
   */
  ask(operation: string, parameters: Readonly<Record<string, unknown>>): Promise<object>;
}
