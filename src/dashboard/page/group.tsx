/** Shows multisignature groups. */

import { hasFinality, type Group, type Transaction } from '../answers.ts';
import { countOf } from '../format.ts';
import { useAnswer, useLive } from './hooks.ts';
import { Facts, Id } from './components.tsx';

function GroupFacts({ title, group }: { title: string; group: Group }) {
  return (
    <>
      <h2>{title}</h2>
      <Facts
        facts={[
          ['Account', <Id key="account" view="accounts" item={group.address} isWhole />],
          ['Must sign', `${group.min} of ${countOf(group.members.length, 'member')}`],
          ...group.members.map(
            ({ address }, index) =>
              [index === 0 ? 'Members' : '', <Id key={address} view="accounts" item={address} isWhole />] as const,
          ),
        ]}
      />
    </>
  );
}

/**
 * Shows the multisignature group of an account, and the groups of which the account is a member. Most accounts have no
 * group and are in no group. For such an account, the component shows nothing.
 */
export function GroupsOf({ address }: { address: string }) {
  const { constants } = useLive();
  const type = constants === undefined || hasFinality(constants) ? 12 : 4;
  // The group is requested only for an account that registered a group, because the node answers with an error for
  // other accounts.
  const registered = useAnswer<Transaction[]>(`transactions?senderId=${address}&type=${type}&limit=1`);
  const memberships = useAnswer<Group[]>(`accounts/${address}/multisignature_memberships`);
  return (
    <>
      {registered.kind === 'answered' && registered.answer.data.length > 0 && <OwnGroup address={address} />}
      {memberships.kind === 'answered' &&
        memberships.answer.data.map((group) => (
          <GroupFacts key={group.address} title="It signs in a group" group={group} />
        ))}
    </>
  );
}

export function OwnGroup({ address }: { address: string }) {
  const asked = useAnswer<Group[]>(`accounts/${address}/multisignature_groups`);
  if (asked.kind !== 'answered') return null;
  return (
    <>
      {asked.answer.data.map((group) => (
        <GroupFacts key={group.address} title="Several people sign for it" group={group} />
      ))}
    </>
  );
}
