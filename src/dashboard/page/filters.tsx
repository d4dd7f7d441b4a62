/**
 * The filters and the order of a list, as a form. The filters and the order are part of the URL, so that users can save
 * and share the URL.
 */

import { useLayoutEffect, useState } from 'preact/hooks';
import { hashOf, type Filters, type HashRoute } from '../hash-route.ts';
import { orderOf, type ListRequest, type Order } from '../list-requests.ts';
import type { Sorting } from './components.tsx';

/**
 * A field of the form. If `options` is present, the field is a list to choose from. Otherwise, the field is a text
 * field.
 */
export interface Field {
  readonly name: string;
  readonly title: string;
  /** The entries of the list. Each entry has a value and the title that the list shows for this value. */
  readonly options?: readonly (readonly [string, string])[];
  readonly example?: string;
  /** True for a field with a short text, such as an amount. */
  readonly isShort?: true;
}

/** Id of the paragraph that shows why the text of a field is invalid. */
const PROBLEM = 'filter-problem';

export function FilterForm({
  route: { view, filters },
  fields,
  orders,
  request,
}: {
  route: HashRoute;
  fields: readonly Field[];
  orders: readonly Order[];
  /**
   * The request for the filtered list. If no valid request is possible, `request` contains the invalid field and the
   * reason. The form then marks the field and shows the reason.
   */
  request?: ListRequest;
}) {
  const wrong = request !== undefined && 'problem' in request ? request : undefined;
  const [values, setValues] = useState(filters);
  const [isOpen, setOpen] = useState(Object.keys(filters).length > 0);
  const key = JSON.stringify(filters);
  // When the user goes back in the browser, the form must show the earlier filters. A layout effect runs before the
  // next paint, so the effect cannot overwrite text that the user types after the paint.
  useLayoutEffect(() => setValues(filters), [key]);
  const apply = (chosen: Filters): void => {
    const [first] = orders;
    location.hash = hashOf(view, undefined, {
      ...chosen,
      ...(chosen['sort'] === first?.[0] ? { sort: '' } : {}),
    });
  };
  const choose = (name: string, value: string): void => {
    const chosen = { ...values, [name]: value };
    setValues(chosen);
    apply(chosen);
  };
  return (
    <>
      {/* The form starts closed on a phone, because the open form takes half of the screen. */}
      <button type="button" class="narrow" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Filter and sort
      </button>
      <form
        class={isOpen ? 'filters open' : 'filters'}
        aria-label="Filters"
        onSubmit={(event) => {
          event.preventDefault();
          apply(values);
        }}
      >
        {fields.map(({ name, title, options, example, isShort }) => (
          <label key={name} class={isShort === true ? 'short' : ''}>
            <span>{title}</span>
            {options === undefined ? (
              <input
                {...(wrong?.field === name ? { 'aria-invalid': 'true', 'aria-describedby': PROBLEM } : {})}
                value={values[name] ?? ''}
                placeholder={example}
                autocomplete="off"
                spellcheck={false}
                onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
              />
            ) : (
              <Choice
                value={values[name] ?? ''}
                options={[['', 'all'], ...options]}
                onChoose={(value) => choose(name, value)}
              />
            )}
          </label>
        ))}
        {orders.length > 0 && (
          <label>
            <span>Order</span>
            <Choice value={orderOf(values, orders)} options={orders} onChoose={(value) => choose('sort', value)} />
          </label>
        )}
        {fields.some(({ options }) => options === undefined) && <button type="submit">Filter</button>}
        {key !== '{}' && <a href={hashOf(view)}>Clear</a>}
      </form>
      {wrong !== undefined && (
        <p id={PROBLEM} class="problem" role="alert">
          {wrong.problem}
        </p>
      )}
    </>
  );
}

function Choice({
  value,
  options,
  onChoose,
}: {
  value: string;
  options: readonly (readonly [string, string])[];
  onChoose: (value: string) => void;
}) {
  return (
    <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
      {options.map(([each, title]) => (
        <option key={each} value={each}>
          {title}
        </option>
      ))}
    </select>
  );
}

/**
 * Returns the data for the heads of a table's columns: the possible orders of the list, the current order, and links to
 * the list in another order.
 */
export function sortingOf({ view, filters }: HashRoute, orders: readonly Order[]): Sorting {
  return {
    orders,
    current: orderOf(filters, orders),
    hashFor: (sort) => hashOf(view, undefined, { ...filters, sort: sort === orders[0]?.[0] ? '' : sort }),
  };
}
