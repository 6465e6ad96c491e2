// Prism colours only what code.js gives it, not the whole page.
window.Prism = {
  manual: true
};
