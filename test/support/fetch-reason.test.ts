import test from 'ava';

test('a failed fetch names its cause and its address', async (t) => {
  const error = await t.throwsAsync(fetch('http://127.0.0.1:1/path'), { instanceOf: TypeError });
  t.regex(error.message, /^fetch failed \(.*: .*bad port.*; http:\/\/127\.0\.0\.1:1\/path\)$/);
});
