<prompt schema="trip-plan">
  <user><mountains><innsbruck place="the old town"/></mountains>. How high does the cable car go?</user>
</prompt>
