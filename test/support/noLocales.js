// In place of zod's locales (jest.config.js).
export {};
