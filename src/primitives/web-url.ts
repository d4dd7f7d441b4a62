/**
 * True for an absolute http or https URL without name and password, and for the empty text, which stands for no URL.
 */
export function isWebUrl(text: string): boolean {
  if (text === '') return true;
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}
