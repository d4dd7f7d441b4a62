export default { test: { include: ['shop.vitest.mjs'] } };
