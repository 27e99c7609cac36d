<prompt schema="trip-plan">
  <user><seaside/><mountains/>Plan our days.</user>
</prompt>
