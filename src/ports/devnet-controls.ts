/**
 * Defines the controls of a devnet that its nodes offer to the dashboard. A node that was started with
 * `bloomery start` does not have these controls.
 */

export interface DevnetControls {
  /**
   * Sends an operation to the supervisor of the devnet, and resolves with the answer.
   *
   * @param operation name of an operation of the control port, such as `mine`
   * @throws ProtocolError `CONTROL_UNKNOWN` if the dashboard does not offer the operation, `USAGE` for wrong
   *   parameters, or the refusal of the supervisor
   */
  ask(operation: string, parameters: Readonly<Record<string, unknown>>): Promise<object>;
}
