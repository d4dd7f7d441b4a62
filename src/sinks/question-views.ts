/**
 * Defines views for frequent queries over the tables of a sink. Both the ClickHouse server and the embedded ClickHouse
 * engine accept the SELECTs of these views. Each day begins at 00:00 UTC.
 */

/**
 * Makes the SELECT of a view.
 *
 * @param prefix text before the name of a table: empty, or the database and a dot
 */
type Select = (prefix: string) => string;

/**
 * Makes the SELECT of the sum of the balance changes for each day and address. The column `transfers` is the number of
 * the changes with the cause `transfer`.
 *
 * @param changes table, view or subquery with the balance changes
 */
export function changesPerDay(changes: string): string {
  return (
    "SELECT toDate(time, 'UTC') AS day, address, sum(amount) AS amount, countIf(cause = 'transfer') AS transfers " +
    `FROM ${changes} GROUP BY day, address`
  );
}

/**
 * The views of frequent queries, by name. Two of these views read the view `balance_changes_per_day`, which the
 * ClickHouse sink and the Parquet sink define in different ways.
 */
export const QUESTION_VIEWS = {
  volume_per_day: (prefix) =>
    "SELECT toDate(time, 'UTC') AS day, count() AS transfers, sum(amount) AS volume, sum(fee) AS fees " +
    `FROM ${prefix}transactions WHERE kind = 'transfer' GROUP BY day`,
  active_addresses_per_day: (prefix) =>
    `SELECT day, count() AS addresses FROM ${prefix}balance_changes_per_day WHERE transfers > 0 GROUP BY day`,
  balances: (prefix) => `SELECT address, sum(amount) AS balance FROM ${prefix}balance_changes_per_day GROUP BY address`,
  flows: (prefix) =>
    'SELECT sender, recipient, count() AS transfers, sum(amount) AS volume, max(time) AS latest ' +
    `FROM ${prefix}transactions WHERE kind = 'transfer' GROUP BY sender, recipient`,
  delegate_productivity_per_day: (prefix) =>
    "SELECT delegate, toDate(time, 'UTC') AS day, sum(forged) AS blocks, sum(missed) AS missed_rounds, " +
    `sum(rewards) AS reward, sum(fees) AS fee FROM ${prefix}rounds GROUP BY delegate, day`,
} as const satisfies Readonly<Record<string, Select>>;
