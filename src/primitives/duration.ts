/** Writes a duration in one or two units, for example `3 d 04 h`, `1 h 05 min`, `3 min 20 s`, `12 s`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  const [minutes, hours, days] = [Math.floor(whole / 60), Math.floor(whole / 3600), Math.floor(whole / 86_400)];
  if (days >= 2) return `${days} d ${two(hours % 24)} h`;
  if (hours >= 1) return `${hours} h ${two(minutes % 60)} min`;
  if (minutes >= 1) return `${minutes} min ${two(whole % 60)} s`;
  return `${whole} s`;
}
