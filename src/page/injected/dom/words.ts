/** Returns the words of a list that is separated by spaces. */
export const words = (list: string): Set<string> => new Set(list.split(' '))
