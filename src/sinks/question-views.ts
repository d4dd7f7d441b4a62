/** Defines views over the tables for frequent queries. All engines of ClickHouse's family accept these queries. */

/**
 * @param prefix text before the name of a table: empty, or the database and a dot
 */
type Select = (prefix: string) => string;

export const QUESTION_VIEWS: Readonly<Record<string, Select>> = {
  volume_per_day: (prefix) =>
    `SELECT toDate(time) AS day, count() AS transfers, sum(amount) AS volume, sum(fee) AS fees FROM ${prefix}transactions ` +
    "WHERE kind = 'transfer' GROUP BY day",
  active_addresses_per_day: (prefix) =>
    `SELECT toDate(time) AS day, uniqExact(address) AS addresses FROM ${prefix}balance_changes ` +
    "WHERE cause = 'transfer' GROUP BY day",
  balances: (prefix) => `SELECT address, sum(amount) AS balance FROM ${prefix}balance_changes GROUP BY address`,
  flows: (prefix) =>
    'SELECT sender, recipient, count() AS transfers, sum(amount) AS volume, max(time) AS latest ' +
    `FROM ${prefix}transactions WHERE kind = 'transfer' GROUP BY sender, recipient`,
  delegate_productivity_per_day: (prefix) =>
    'SELECT delegate, toDate(time) AS day, sum(forged) AS blocks, sum(missed) AS missed_rounds, sum(rewards) AS reward, ' +
    `sum(fees) AS fee FROM ${prefix}rounds GROUP BY delegate, day`,
};
