/**
 * Defines the interface through which the dashboard of a node controls the node's devnet. Only a node of a devnet has
 * this interface. A node that was started with `bloomery start` does not have this interface.
 */

export interface DevnetControls {
  /**
   * Sends an operation to the supervisor of the devnet, and resolves with the result of the operation.
   *
   * @param operation name of an operation of the supervisor's control port, such as `mine`
   * @throws ProtocolError `CONTROL_UNKNOWN` if the dashboard does not offer the operation; `USAGE` for wrong
   *   parameters; another code if the operation is refused, fails or takes too long
   */
  ask(operation: string, parameters: Readonly<Record<string, unknown>>): Promise<object>;
}
