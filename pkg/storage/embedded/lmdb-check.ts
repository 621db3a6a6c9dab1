export function checkFile(_path: string): void {}
