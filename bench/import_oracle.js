// Which file each module specifier means by TypeScript's own compiler: arguments are the folder of
// the npm package and that of the tree; standard input is a list of files.
const ts = require(process.argv[2]); const path = require('path');
const root = process.argv[3]; const files = JSON.parse(require('fs').readFileSync(0, 'utf8'));
if (!ts.resolveModuleName) throw new Error('this TypeScript has no JavaScript interface; take version 5');
const known = new Map();
function options(folder) {
  if (known.has(folder)) return known.get(folder);
  const file = ts.findConfigFile(folder, ts.sys.fileExists);
  let found = {allowJs: true, moduleResolution: ts.ModuleResolutionKind.Bundler, module: 99};
  if (file && !path.relative(root, file).startsWith('..')) {
    const read = ts.readConfigFile(file, ts.sys.readFile);
    const host = {...ts.sys, readDirectory: () => []};
    const parsed = ts.parseJsonConfigFileContent(read.config || {}, host, path.dirname(file));
    found = {...found, ...parsed.options, allowJs: true};
  }
  known.set(folder, found);
  return found;
}
function specifiers(file) {
  const found = new Set(), source = ts.createSourceFile(file, ts.sys.readFile(file) || '', 99, true);
  const add = node => { if (node && ts.isStringLiteralLike(node)) found.add(node.text); };
  const visit = node => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add(node.moduleSpecifier);
    else if (ts.isExternalModuleReference(node)) add(node.expression);
    else if (ts.isImportTypeNode(node)) add(node.argument.literal);
    else if (ts.isModuleDeclaration(node) && ts.isExternalModule(source)) add(node.name);
    else if (ts.isCallExpression(node) && (node.expression.kind === ts.SyntaxKind.ImportKeyword
             || node.expression.getText(source) === 'require')) add(node.arguments[0]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
const pairs = [], unresolved = [];
for (const name of files) {
  const file = path.join(root, name);
  for (const said of specifiers(file)) {
    const found = ts.resolveModuleName(said, file, options(path.dirname(file)), ts.sys);
    const target = found.resolvedModule && found.resolvedModule.resolvedFileName;
    const below = target && path.relative(root, target);
    if (target && !target.includes('node_modules')) {
      if (!below.startsWith('..') && below !== name) pairs.push([name, below]);
    } else unresolved.push([name, said]);
  }
}
console.log(JSON.stringify({pairs, unresolved}));
