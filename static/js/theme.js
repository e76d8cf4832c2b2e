/* The admin's templates cannot write data-theme on the html element; this does, before the first paint. */
(() => {
  const theme = /(?:^|; )theme=(dark|light)/.exec(document.cookie);
  if (theme) document.documentElement.dataset.theme = theme[1];
})();
